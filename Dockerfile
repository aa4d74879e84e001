# A Kafka cluster of one broker on 9092 and its admin port on 9099 (docs/containers.md):
#   docker run --rm -p 9092:9092 -p 9099:9099 mock-kafka
FROM python:3.13-slim AS build
WORKDIR /source
RUN command -v strip || { apt-get update && apt-get install --yes --no-install-recommends binutils; }
RUN python -m venv /opt/mock-kafka
# The dependencies come before the source: a change of the source installs nothing again.
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN /opt/mock-kafka/bin/pip --no-cache-dir install --no-compile --require-hashes \
        --requirement requirements/build.txt --requirement requirements/runtime.txt
COPY . .
RUN /opt/mock-kafka/bin/pip --no-cache-dir install --no-compile --no-deps --no-build-isolation . \
    && /opt/mock-kafka/bin/pip uninstall --yes setuptools kafka-python \
    && python -m scripts.image_root /opt/mock-kafka /image

# No shell, no package manager: the interpreter, what it imports, and the libraries of both.
FROM scratch
COPY --from=build /image /
ARG VERSION="" REVISION="" SOURCE=""
LABEL org.opencontainers.image.title="mock-kafka" \
      org.opencontainers.image.description="A Kafka cluster in one Python process that real Kafka clients cannot tell from a real one." \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65534:65534
EXPOSE 9092 9099
# Options of `serve`: arguments of the container override them.
ENV PATH=/opt/mock-kafka/bin \
    LANG=C.UTF-8 \
    MOCK_KAFKA_HOST=0.0.0.0 \
    MOCK_KAFKA_PORT=9092 \
    MOCK_KAFKA_ADVERTISED_HOST=localhost \
    MOCK_KAFKA_ADMIN_HOST=0.0.0.0 \
    MOCK_KAFKA_ADMIN_PORT=9099
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s \
    CMD ["/opt/mock-kafka/bin/mock-kafka", "health"]
ENTRYPOINT ["/opt/mock-kafka/bin/mock-kafka"]
CMD ["serve"]
