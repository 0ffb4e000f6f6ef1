"""The one story that every agent here plays; model-server.ts answers it."""

import os

MODEL = "gpt-4o-mini"
MODEL_URL = os.environ["MODEL_URL"]
API_KEY = "none"
SYSTEM = "You are a weather assistant."
QUESTION = "What is the weather in Paris?"
HISTORY = [("user", "Hi, I am Ann."), ("assistant", "Hello Ann!")]
SESSION = "sess-1"
USER = "user-9"


def get_weather(city: str) -> dict:
    """Get weather for a city"""
    return {"city": city, "tempC": 18, "sky": "rain"}
