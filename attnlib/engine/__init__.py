"""The engine: what happens when parts of a text are removed, exactly and fast.

attention   erasure of attention weights: closed forms through token logits, no encoder pass beyond the first
explainable the contract of a model that can be explained, and `erase`
operators   what "removed from the input" means: pad, delete, mask, unk
pointwise   input erasure for encoders that read each word alone (none, mlp): closed form
windows     for cnn: only the columns around a removed word are computed again
branches    for lstm and gru: states before and after a change are shared by all the variants
gapless     for transformers: variants without gaps, the first layer's maps computed once per text
rows        for everything else: variants as extra rows of a batch
flips       first flips in growing blocks; texts leave at their first flip
jacobian    the gradient of every ‖h_p‖ with respect to every input, through time (bptt) and layers (adjoints)
"""
