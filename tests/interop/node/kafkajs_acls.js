// kafkajs: `rules`, `produce` or `consume SERVERS USER PASSWORD TOPIC GROUP`; prints tab between words.
const {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  ResourcePatternTypes,
  logLevel,
} = require("kafkajs");

const TYPES = Object.entries(AclResourceTypes);
const OPERATIONS = Object.entries(AclOperationTypes);
const ANY_RULE = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
};
const print = (...words) => console.log(words.join("\t"));
const nameIn = (entries, code) => entries.find(([, value]) => value === code)[0];
const printRule = (word, rule) =>
  print(
    word,
    rule.principal,
    nameIn(Object.entries(AclPermissionTypes), rule.permissionType),
    nameIn(OPERATIONS, rule.operation),
    nameIn(TYPES, rule.resourceType),
    rule.resourceName,
    nameIn(Object.entries(ResourcePatternTypes), rule.resourcePatternType ?? rule.resourcePatternFilter),
    rule.host,
  );

async function list(admin) {
  const { resources } = await admin.describeAcls(ANY_RULE);
  for (const { acls, ...resource } of resources) {
    for (const acl of acls) printRule("listed", { ...resource, ...acl });
  }
}

async function rules(kafka, topic, group) {
  const admin = kafka.admin();
  await admin.connect();
  const of = { principal: "User:alice", host: "*", permissionType: AclPermissionTypes.ALLOW };
  try {
    const acl = [
      {
        ...of,
        operation: AclOperationTypes.WRITE,
        resourceType: AclResourceTypes.TOPIC,
        resourceName: topic,
        resourcePatternType: ResourcePatternTypes.LITERAL,
      },
      {
        ...of,
        permissionType: AclPermissionTypes.DENY,
        operation: AclOperationTypes.READ,
        resourceType: AclResourceTypes.GROUP,
        resourceName: group.slice(0, 4),
        resourcePatternType: ResourcePatternTypes.PREFIXED,
      },
    ];
    print("created", await admin.createAcls({ acl }));
    await list(admin);
    const matching = {
      ...ANY_RULE,
      resourceType: AclResourceTypes.GROUP,
      resourceName: group,
      resourcePatternType: ResourcePatternTypes.MATCH,
    };
    const { filterResponses } = await admin.deleteAcls({ filters: [matching] });
    for (const { matchingAcls } of filterResponses) {
      for (const rule of matchingAcls) printRule("deleted", rule);
    }
    await list(admin);
  } finally {
    await admin.disconnect();
  }
}

async function produce(kafka, topic) {
  const producer = kafka.producer();
  await producer.connect();
  try {
    const [{ baseOffset }] = await producer.send({ topic, messages: [{ value: "x" }] });
    print("offset", baseOffset);
  } finally {
    await producer.disconnect();
  }
}

async function consume(kafka, topic, groupId) {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50, retry: { retries: 0 } });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise((done, fail) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error));
      consumer.run({
        eachMessage: async ({ message }) => {
          print("value", message.value);
          done();
        },
      });
    });
  } finally {
    await consumer.disconnect();
  }
}

const [scenario, servers, username, password, topic, group] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: "kafkajs",
  brokers: servers.split(","),
  sasl: { mechanism: "plain", username, password },
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 20, retries: 5, maxRetryTime: 200 },
});
({ rules, produce, consume })[scenario](kafka, topic, group)
  .catch((error) => print("error", (error.cause ?? error).type ?? error.name))
  .finally(() => process.exit());
