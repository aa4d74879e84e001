# A Kafka cluster of one broker on 9092 and its admin port on 9099:
#   docker run --rm -p 9092:9092 -p 9099:9099 mock-kafka
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /opt/mock-kafka \
    && cd /source && pip="/opt/mock-kafka/bin/pip --no-cache-dir" \
    && $pip install --require-hashes --requirement requirements/build.txt --requirement requirements/runtime.txt \
    && $pip install --no-deps --no-build-isolation . \
    && $pip uninstall --yes setuptools

FROM python:3.13-slim
COPY --from=build /opt/mock-kafka /opt/mock-kafka
USER 65534:65534
EXPOSE 9092 9099
ENTRYPOINT ["/opt/mock-kafka/bin/mock-kafka"]
CMD ["serve", "--host", "0.0.0.0", "--port", "9092", "--admin-host", "0.0.0.0", "--admin-port", "9099", "-o", "advertised.listeners=PLAINTEXT://localhost:9092"]
