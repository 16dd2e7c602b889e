"""Small models of every kind, and a quick training."""

from attnlib.config import ModelConfig, TrainConfig

MODELS = {
    "lstm": ModelConfig(embedding_size=12, hidden_size=12),
    "tasc": ModelConfig(encoder="cnn", embedding_size=12, hidden_size=12, scaling="conv", projection="sparsemax"),
    "mlm": ModelConfig(encoder="gru", embedding_size=12, hidden_size=12, regulariser="mlm", attention="dot"),
    "han": ModelConfig(encoder="mlp", embedding_size=12, hidden_size=12, hierarchical=True),
}
QUICK = TrainConfig(epochs=1, learning_rate=1e-2, device="cpu")
