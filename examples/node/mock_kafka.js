// Start mock-kafka for the tests of a file, or use the cluster at MOCK_KAFKA_BOOTSTRAP_SERVERS
// with its admin port at MOCK_KAFKA_ADMIN_URL.
const { spawn } = require('node:child_process');
const readline = require('node:readline');

const ARGUMENTS = [
  'serve', '--port', '0', '--admin-port', '0',
  // It ends with this process, also if that is killed, because its standard input closes then.
  '--until-stdin-closes', '--log-level', 'warning',
  // kafkajs treats error 46 as a failure, so it needs Kafka's rule for duplicates.
  '-o', 'producer.state.batches=5',
];

class MockKafka {
  static async start() {
    const kafka = new MockKafka();
    kafka.bootstrapServers = process.env.MOCK_KAFKA_BOOTSTRAP_SERVERS;
    kafka.adminUrl = process.env.MOCK_KAFKA_ADMIN_URL;
    if (kafka.adminUrl) return kafka;
    kafka.process = spawn('mock-kafka', ARGUMENTS, { stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const line of readline.createInterface({ input: kafka.process.stdout })) {
      if (line.startsWith('bootstrap.servers=')) kafka.bootstrapServers = line.split('=')[1];
      if (line.startsWith('admin.url=')) {
        kafka.adminUrl = line.split('=')[1];
        return kafka;
      }
    }
    throw new Error('mock-kafka did not start; standard error says why');
  }

  // Send a request to the admin port and return its JSON, e.g. ask('GET', '/v1/topics').
  async ask(method, path, body) {
    const response = await fetch(this.adminUrl + path, { method, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return text ? JSON.parse(text) : null;
  }

  // Return the values of a topic's records.
  async values(topic) {
    const { records } = await this.ask('GET', `/v1/topics/${topic}/records`);
    return records.map((record) => record.value.text);
  }

  // Return the values as soon as there are so many, or those that there are after 10 seconds.
  async waitForValues(topic, count) {
    await this.ask('GET', `/v1/topics/${topic}/records/wait?count=${count}&timeout_ms=10000`);
    return this.values(topic);
  }

  stop() {
    this.process?.kill();
  }
}

module.exports = { MockKafka };
