"""Task-scaled attention (Chrysostomou & Aletras 2021)."""
