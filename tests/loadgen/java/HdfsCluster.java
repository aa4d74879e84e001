import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * An HDFS cluster in one process: a name node and a data node on free ports of this machine. The
 * argument is the folder for its data. It prints its URL, and ends with its standard input.
 */
public final class HdfsCluster {
    public static void main(String[] args) throws Exception {
        MiniDFSCluster cluster =
            new MiniDFSCluster.Builder(new Configuration(), new File(args[0])).build();
        System.out.println(cluster.getURI());
        while (System.in.read() >= 0) {}
        Runtime.getRuntime().halt(0); // a test has no use for an orderly shutdown
    }
}
