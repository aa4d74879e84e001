// kafkajs: `produce SERVERS TOPIC COUNT`, `consume` or `copy SERVERS TOPIC COUNT GROUP`, `fence SERVERS TOPIC 0`,
// or `work SERVERS TOPIC COUNT`; prints tab between words.
const { CompressionTypes, Kafka, logLevel } = require("kafkajs");

const PARTITIONS = 2;
const PER_REQUEST = 10;
const RECORDS_PER_S = 200;

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

// Copies records to another topic, in transactions with their offsets; every third one is aborted.
// A send goes to one partition: kafkajs takes the records of two partitions as sent when the leader of
// one stopped and the other's took over, since it remembers responses by broker (producer/sendMessages.js).
async function copy(kafka, topic, count, groupId) {
  const producer = kafka.producer({ transactionalId: groupId, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let copied = 0;
  let round = 0;
  await new Promise((done, fail) => {
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch }) => {
        try {
          const { partition } = batch;
          for (let start = 0; start < batch.messages.length; start += 10) {
            const messages = batch.messages.slice(start, start + 10);
            const offset = String(Number(messages[messages.length - 1].offset) + 1);
            for (let isCommitted = false; !isCommitted; ) {
              isCommitted = ++round % 3 !== 0;
              const transaction = await producer.transaction();
              await transaction.send({
                topic: `${topic}-copy`,
                messages: messages.map(({ value }) => ({ partition, value })),
              });
              await transaction.sendOffsets({
                consumerGroupId: groupId,
                topics: [{ topic, partitions: [{ partition, offset }] }],
              });
              await (isCommitted ? transaction.commit() : transaction.abort());
              console.log(["end", isCommitted].join("\t"));
            }
            copied += messages.length;
          }
          consumer.seek({ topic, partition, offset: String(Number(batch.lastOffset()) + 1) });
          if (copied === count) done();
        } catch (error) {
          fail(error);
        }
      },
    });
  });
  await consumer.disconnect();
  await producer.disconnect();
}

// Two producers with one transactional id: the second one ends the transaction of the first.
async function fence(kafka, topic) {
  const open = async (value) => {
    const producer = kafka.producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value }] });
    return { producer, transaction };
  };
  const first = await open("first");
  const second = await open("second");
  await second.transaction.commit();
  await first.transaction.commit().catch((error) => console.log(["first", error.type].join("\t")));
  await first.producer.disconnect();
  await second.producer.disconnect();
}

// The work of benchmarks/client_work.py, with the defaults of kafkajs: it has no buffer, so the first half of
// the records is sent in calls of a hundred, and the others in one call each.
async function work(kafka, topic, count) {
  const value = "v".repeat(100);
  const consumer = kafka.consumer({ groupId: topic });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const read = new Promise((done) => {
    let left = count;
    consumer.run({ eachMessage: async () => --left === 0 && done() });
  });
  let producer = kafka.producer();
  await producer.connect();
  const half = count / 2;
  for (let sent = 0; sent < half; sent += 100) {
    await producer.send({ topic, messages: Array(Math.min(100, half - sent)).fill({ value }) });
  }
  const start = Date.now();
  for (let number = 0; number < half; number++) {
    await new Promise((due) => setTimeout(due, start + (number * 1000) / RECORDS_PER_S - Date.now()));
    await producer.send({ topic, messages: [{ value }] });
  }
  await producer.disconnect();
  await read;
  await consumer.disconnect();
  producer = kafka.producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (let round = 0; round < 2; round++) {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: Array(10).fill({ value }) });
    await transaction.commit();
  }
  await producer.disconnect();
}

const [scenario, servers, topic, count, group] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: "kafkajs",
  brokers: servers.split(","),
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 20, retries: 20, maxRetryTime: 200 },
});
({ produce, consume, copy, fence, work })[scenario](kafka, topic, Number(count), group).catch((error) => {
  console.error(error);
  process.exit(1);
});
