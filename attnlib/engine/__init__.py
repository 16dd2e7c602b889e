"""The engine: what happens when parts of a text are removed, exactly and fast.

attention   erasure of attention weights: closed forms through token logits
explainable the contract of a model that can be explained, and `erase`
rows        what "removed from the input" means: pad, delete, mask, unk; the generic path, for every model
select      which models may take a shortcut instead, made of the kit's own modules; those of none, mlp and cnn
orders      scores to orders of removal; first flips in growing blocks, texts leave at their first flip
jacobian    the gradient of every ‖h_p‖ with respect to every input, through time at once
"""
