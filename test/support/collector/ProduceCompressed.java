import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends a file as records of one batch for each codec: brokers topic codec,codec file count. */
public class ProduceCompressed {
  public static void main(String[] args) throws Exception {
    byte[] value = Files.readAllBytes(Path.of(args[3]));
    for (String codec : args[2].split(",")) {
      Properties properties = new Properties();
      properties.put("bootstrap.servers", args[0]);
      properties.put("compression.type", codec);
      properties.put("linger.ms", "200");
      properties.put("batch.size", "1000000");
      try (var producer =
          new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
        for (int i = 0; i < Integer.parseInt(args[4]); i++) {
          producer.send(new ProducerRecord<>(args[1], value));
        }
      }
    }
  }
}
