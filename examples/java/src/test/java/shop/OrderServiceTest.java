package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Run with `mvn test`; mock-kafka must be on the PATH. */
@Timeout(30)
class OrderServiceTest {
    private static MockKafka kafka;
    private OrderService service;

    @BeforeAll
    static void startKafka() throws Exception {
        kafka = new MockKafka();
    }

    @AfterAll
    static void stopKafka() {
        kafka.close();
    }

    @BeforeEach
    void startService() throws Exception {
        kafka.ask("POST", "/v1/reset", "");
        kafka.ask("POST", "/v1/topics", "{\"name\": \"orders\", \"partitions\": 1}");
        kafka.ask("POST", "/v1/topics", "{\"name\": \"invoices\", \"partitions\": 1}");
        service = new OrderService(kafka.bootstrapServers());
    }

    @AfterEach
    void closeService() {
        service.close();
    }

    @Test
    void anOrderGetsAnInvoice() throws Exception {
        service.place(1, 3, 2);
        service.writeInvoices(1);
        String records = kafka.ask("GET", "/v1/topics/invoices/records", "");
        assertTrue(records.contains("{\"text\":\"6\"}"), records);
    }

    @Test
    void anOrderIsStoredOnceWhenTheAcknowledgementIsLost() throws Exception {
        kafka.ask("POST", "/v1/faults",
                "{\"api\": \"Produce\", \"drop\": \"before_response\", \"times\": 1}");
        service.place(1, 3, 2);
        assertEquals(1, count(kafka.ask("GET", "/v1/topics/orders/records", ""), "\"offset\":"));
        assertEquals(2, count(kafka.ask("GET", "/v1/requests?api=Produce", ""), "\"api\":"));
    }

    @Test
    void theServiceWaitsForReplicas() throws Exception {
        kafka.ask("POST", "/v1/faults",
                "{\"api\": \"Produce\", \"error\": \"NOT_ENOUGH_REPLICAS\", \"times\": 2}");
        service.place(1, 3, 2);
        assertEquals(1, count(kafka.ask("GET", "/v1/topics/orders/records", ""), "\"offset\":"));
    }

    private static int count(String text, String part) {
        return text.split(part, -1).length - 1;
    }
}
