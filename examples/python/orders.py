"""A small service: it stores orders, and writes an invoice for each of them."""

import json

from kafka import KafkaConsumer, KafkaProducer


class OrderService:
    def __init__(self, bootstrap_servers):
        self.producer = KafkaProducer(bootstrap_servers=bootstrap_servers, linger_ms=0)
        self.consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap_servers,
            group_id="invoicing",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )

    def place(self, order):
        """Store an order and wait for the acknowledgement."""
        self.producer.send("orders", json.dumps(order).encode()).get(timeout=30)

    def write_invoices(self, count):
        """Read this many orders, write their invoices, then commit the offsets."""
        while count > 0:
            for records in self.consumer.poll(timeout_ms=1000).values():
                for record in records:
                    order = json.loads(record.value)
                    invoice = {"order": order["id"], "total": order["price"] * order["quantity"]}
                    self.producer.send("invoices", json.dumps(invoice).encode()).get(timeout=30)
                    count -= 1
        self.consumer.commit()

    def close(self):
        self.producer.close()
        self.consumer.close()
