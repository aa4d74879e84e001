package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mockkafka.Fault;
import io.mockkafka.MockKafka;
import io.mockkafka.MockKafkaExtension;
import io.mockkafka.admin.Api;
import io.mockkafka.admin.ErrorCode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Run with `mvn test`; mock-kafka must be on the PATH. */
@Timeout(30)
@ExtendWith(MockKafkaExtension.class)
class OrderServiceTest {
    private OrderService service;

    @BeforeEach
    void startService(MockKafka kafka) {
        kafka.createTopic("orders", 1);
        kafka.createTopic("invoices", 1);
        service = new OrderService(kafka.bootstrapServers());
    }

    @AfterEach
    void closeService() {
        service.close();
    }

    @Test
    void anOrderGetsAnInvoice(MockKafka kafka) throws Exception {
        service.place(1, 3, 2);
        service.writeInvoices(1);
        assertEquals("6", kafka.records("invoices").get(0).value());
    }

    @Test
    void anOrderIsStoredOnceWhenTheAcknowledgementIsLost(MockKafka kafka) throws Exception {
        kafka.dropResponse(Fault.on(Api.PRODUCE).times(1));
        service.place(1, 3, 2);
        assertEquals(1, kafka.records("orders").size());
        assertEquals(2, kafka.requests(Api.PRODUCE).size());
    }

    @Test
    void theServiceWaitsForReplicas(MockKafka kafka) throws Exception {
        Fault fault = kafka.fail(Fault.on(Api.PRODUCE).times(2), ErrorCode.NOT_ENOUGH_REPLICAS);
        service.place(1, 3, 2);
        assertEquals(1, kafka.records("orders").size());
        assertEquals(2, fault.count());
    }
}
