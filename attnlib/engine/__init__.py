"""The engine: what happens when parts of a text are removed, exactly and fast.

attention   erasure of attention weights: closed forms through token logits, no encoder pass beyond the first
explainable the contract of a model that can be explained, and `erase`
operators   what "removed from the input" means: pad, delete, mask, unk
rows        the generic path, for every model: variants as rows of a batch
select      which models may take a shortcut instead: none but those made of the kit's own modules
pointwise   a shortcut where each word is read alone (none, mlp): closed form
windows     a shortcut for cnn: only the columns around a removed word are computed again
orders      scores to orders of removal; first flips in growing blocks, texts leave at their first flip
jacobian    the gradient of every ‖h_p‖ with respect to every input, through time at once (bptt)
"""
