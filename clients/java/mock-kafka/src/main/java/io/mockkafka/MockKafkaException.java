package io.mockkafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.mockkafka.admin.ProblemDocument;

/** A cluster did not start, does not respond, or refused a request; the message says what to do. */
public class MockKafkaException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final transient ProblemDocument problem;

    MockKafkaException(String message, Throwable cause) {
        super(message, cause);
        this.status = 0;
        this.problem = null;
    }

    private MockKafkaException(int status, ProblemDocument problem) {
        super(problem.detail());
        this.status = status;
        this.problem = problem;
    }

    static MockKafkaException of(int status, String text, ObjectMapper mapper) {
        try {
            return new MockKafkaException(status, mapper.readValue(text, ProblemDocument.class));
        } catch (JsonProcessingException error) {
            return new MockKafkaException("HTTP status " + status + ": " + text, error);
        }
    }

    /** Return the HTTP status: 400, 404, 409 or 422 of a refusal, 0 if there was no response. */
    public int status() {
        return status;
    }

    /** Return the problem document (RFC 9457), with the remedy; null if there was no response. */
    public ProblemDocument problem() {
        return problem;
    }
}
