// kafkajs: `produce SERVERS TOPIC COUNT` or `consume SERVERS TOPIC COUNT GROUP`; prints tab between words.
const { CompressionTypes, Kafka, logLevel } = require("kafkajs");

const PARTITIONS = 2;
const PER_REQUEST = 10;

async function produce(kafka, topic, count) {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }] });
  await admin.disconnect();
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (let start = 0; start < count; start += PER_REQUEST) {
    const messages = [];
    for (let number = start; number < Math.min(start + PER_REQUEST, count); number++) {
      messages.push({
        partition: number % PARTITIONS,
        key: "key",
        value: String(number),
        headers: { number: String(number) },
        timestamp: String(1000 + number),
      });
    }
    await producer.send({ topic, messages, acks: -1, compression: CompressionTypes.GZIP });
  }
  await producer.disconnect();
}

async function consume(kafka, topic, count, groupId) {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let read = 0;
  await new Promise((done) => {
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (read === count) return;
        const header = message.headers.number.toString();
        console.log(
          [partition, message.offset, message.timestamp, message.key, message.value, header].join("\t"),
        );
        const offset = String(Number(message.offset) + 1);
        await consumer.commitOffsets([{ topic, partition, offset }]);
        if (++read === count) done();
      },
    });
  });
  await consumer.disconnect();
}

const [scenario, servers, topic, count, group] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: "kafkajs",
  brokers: servers.split(","),
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 20, retries: 20, maxRetryTime: 200 },
});
({ produce, consume })[scenario](kafka, topic, Number(count), group).catch((error) => {
  console.error(error);
  process.exit(1);
});
