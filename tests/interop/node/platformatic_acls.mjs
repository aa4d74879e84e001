// @platformatic/kafka: `rules`, `produce` or `consume SERVERS USER PASSWORD TOPIC GROUP`; prints tab between
// words.
import { createRequire } from "node:module";

// `import` does not read NODE_PATH, and the package has no other entry.
const { resolve } = createRequire(import.meta.url);
const {
  Admin,
  AclOperations,
  AclPermissionTypes,
  Consumer,
  Producer,
  ResourcePatternTypes,
  ResourceTypes,
  stringDeserializers,
  stringSerializers,
} = await import(resolve("@platformatic/kafka"));

const ANY_RULE = {
  resourceType: ResourceTypes.ANY,
  resourceName: null,
  resourcePatternType: ResourcePatternTypes.ANY,
  principal: null,
  host: null,
  operation: AclOperations.ANY,
  permissionType: AclPermissionTypes.ANY,
};
const print = (...words) => console.log(words.join("\t"));
const nameIn = (names, code) => Object.entries(names).find(([, value]) => value === code)[0];
const printRule = (word, rule) =>
  print(
    word,
    rule.principal,
    nameIn(AclPermissionTypes, rule.permissionType),
    nameIn(AclOperations, rule.operation),
    nameIn(ResourceTypes, rule.resourceType),
    rule.resourceName,
    nameIn(ResourcePatternTypes, rule.resourcePatternType),
    rule.host,
  );

async function list(admin) {
  for (const { acls, ...resource } of await admin.describeAcls({ filter: ANY_RULE })) {
    for (const acl of acls) printRule("listed", { ...resource, ...acl });
  }
}

async function rules(settings, topic, group) {
  const admin = new Admin(settings);
  const of = { principal: "User:alice", host: "*", permissionType: AclPermissionTypes.ALLOW };
  try {
    const creations = [
      {
        ...of,
        operation: AclOperations.WRITE,
        resourceType: ResourceTypes.TOPIC,
        resourceName: topic,
        resourcePatternType: ResourcePatternTypes.LITERAL,
      },
      {
        ...of,
        permissionType: AclPermissionTypes.DENY,
        operation: AclOperations.READ,
        resourceType: ResourceTypes.GROUP,
        resourceName: group.slice(0, 4),
        resourcePatternType: ResourcePatternTypes.PREFIXED,
      },
    ];
    await admin.createAcls({ creations });
    print("created", true);
    await list(admin);
    const matching = {
      ...ANY_RULE,
      resourceType: ResourceTypes.GROUP,
      resourceName: group,
      resourcePatternType: ResourcePatternTypes.MATCH,
    };
    for (const rule of await admin.deleteAcls({ filters: [matching] })) printRule("deleted", rule);
    await list(admin);
  } finally {
    await admin.close();
  }
}

async function produce(settings, topic) {
  const producer = new Producer({ ...settings, serializers: stringSerializers });
  try {
    const { offsets } = await producer.send({ messages: [{ topic, value: "x" }] });
    print("offset", offsets[0].offset);
  } finally {
    await producer.close();
  }
}

async function consume(settings, topic, groupId) {
  const consumer = new Consumer({ ...settings, groupId, deserializers: stringDeserializers });
  try {
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", maxWaitTime: 50 });
    for await (const { value } of stream) {
      print("value", value);
      break;
    }
  } finally {
    await consumer.close(true);
  }
}

/** The name of the error that the broker answered; the library wraps it in one for each API. */
const brokerError = (error) =>
  error.apiId ?? [...(error.errors ?? []), error.cause].filter(Boolean).map(brokerError).find(Boolean);

const [scenario, servers, username, password, topic, group] = process.argv.slice(2);
const settings = {
  clientId: "platformatic",
  bootstrapBrokers: servers.split(","),
  sasl: { mechanism: "PLAIN", username, password },
  retries: 5,
  retryDelay: 50,
};
await { rules, produce, consume }[scenario](settings, topic, group).catch((error) =>
  print("error", brokerError(error) ?? error),
);
process.exit();
