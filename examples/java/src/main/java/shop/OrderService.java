package shop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A small service: it stores orders, and writes an invoice for each of them. */
public final class OrderService implements AutoCloseable {
    private final KafkaProducer<Integer, String> producer;
    private final KafkaConsumer<Integer, String> consumer;

    public OrderService(String bootstrapServers) {
        producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", bootstrapServers),
                new IntegerSerializer(), new StringSerializer());
        consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", bootstrapServers, "group.id", "invoicing",
                        "auto.offset.reset", "earliest", "enable.auto.commit", "false"),
                new IntegerDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("orders"));
    }

    /** Store an order and wait for the acknowledgement. */
    public void place(int id, int price, int quantity) throws Exception {
        producer.send(new ProducerRecord<>("orders", id, price + "x" + quantity)).get();
    }

    /** Read this many orders, write their invoices, then commit the offsets. */
    public void writeInvoices(int count) throws Exception {
        for (int written = 0; written < count; ) {
            for (ConsumerRecord<Integer, String> order : consumer.poll(Duration.ofSeconds(1))) {
                String[] parts = order.value().split("x");
                int total = Integer.parseInt(parts[0]) * Integer.parseInt(parts[1]);
                producer.send(new ProducerRecord<>("invoices", order.key(), "" + total)).get();
                written++;
            }
        }
        consumer.commitSync();
    }

    @Override
    public void close() {
        consumer.close();
        producer.close();
    }
}
