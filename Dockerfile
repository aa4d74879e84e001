# A Kafka cluster of one broker on 9092 and its admin port on 9099 (docs/containers.md):
#   docker run --rm -p 9092:9092 -p 9099:9099 mock-kafka
FROM python:3.13-slim AS build
WORKDIR /source
RUN python -m venv /opt/mock-kafka
# The dependencies come before the source: a change of the source installs nothing again.
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN /opt/mock-kafka/bin/pip --no-cache-dir install --require-hashes \
        --requirement requirements/build.txt --requirement requirements/runtime.txt
COPY . .
RUN /opt/mock-kafka/bin/pip --no-cache-dir install --no-deps --no-build-isolation . \
    && /opt/mock-kafka/bin/pip uninstall --yes setuptools kafka-python

FROM python:3.13-slim
COPY --from=build /opt/mock-kafka /opt/mock-kafka
USER 65534:65534
EXPOSE 9092 9099
# Options of `serve`: arguments of the container override them.
ENV MOCK_KAFKA_HOST=0.0.0.0 \
    MOCK_KAFKA_PORT=9092 \
    MOCK_KAFKA_ADVERTISED_HOST=localhost \
    MOCK_KAFKA_ADMIN_HOST=0.0.0.0 \
    MOCK_KAFKA_ADMIN_PORT=9099
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s \
    CMD ["/opt/mock-kafka/bin/mock-kafka", "health"]
ENTRYPOINT ["/opt/mock-kafka/bin/mock-kafka"]
CMD ["serve"]
