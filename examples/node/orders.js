// A small service: it stores orders, and writes an invoice for each of them.
const { Kafka, logLevel } = require('kafkajs');

class OrderService {
  constructor(brokers) {
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } });
    this.producer = kafka.producer({ idempotent: true });
    this.consumer = kafka.consumer({ groupId: 'invoicing' });
  }

  async start() {
    await this.producer.connect();
    await this.consumer.connect();
    await this.consumer.subscribe({ topic: 'orders', fromBeginning: true });
  }

  // Store an order and wait for the acknowledgement.
  async place(order) {
    await this.producer.send({ topic: 'orders', messages: [{ value: JSON.stringify(order) }] });
  }

  // Write an invoice for each order, until the service is closed.
  async writeInvoices() {
    await this.consumer.run({
      eachMessage: async ({ message }) => {
        const { id, price, quantity } = JSON.parse(message.value);
        const invoice = JSON.stringify({ order: id, total: price * quantity });
        await this.producer.send({ topic: 'invoices', messages: [{ value: invoice }] });
      },
    });
  }

  async close() {
    await this.consumer.disconnect();
    await this.producer.disconnect();
  }
}

module.exports = { OrderService };
