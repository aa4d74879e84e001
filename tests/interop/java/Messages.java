import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Encodes messages with the classes of Apache Kafka. A line of the input is the prefix of the
 * message ("none", "version" or "type"), its class, its version and its fields as JSON, with tabs
 * between them. A line of the output is the bytes as hex digits, or "error" and what was wrong.
 */
public final class Messages {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder output = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", 4);
            try {
                short version = Short.parseShort(parts[2]);
                ApiMessage message = read(parts[1], version, MAPPER.readTree(parts[3]));
                output.append(HexFormat.of().formatHex(encode(parts[0], message, version)));
            } catch (ReflectiveOperationException | RuntimeException error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                output.append("error ").append(String.valueOf(cause).replace('\n', ' '));
            }
            output.append('\n');
        }
        System.out.print(output);
    }

    private static ApiMessage read(String name, short version, JsonNode fields)
            throws ReflectiveOperationException {
        Method read = Class.forName(name + "JsonConverter")
            .getMethod("read", JsonNode.class, short.class);
        return (ApiMessage) read.invoke(null, fields, version);
    }

    private static byte[] encode(String prefix, ApiMessage message, short version) {
        if (prefix.equals("version")) {
            return MessageUtil.toVersionPrefixedBytes(version, message);
        }
        if (prefix.equals("type")) {
            return MessageUtil.toCoordinatorTypePrefixedBytes(message);
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }
}
