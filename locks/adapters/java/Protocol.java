import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/** The lock program's protocol for Java libraries, see locks/program/README.md. */
final class Protocol {
    /** A library's client. It returns null if the lock is surely not held; an exception means that nobody knows. */
    interface Client {
        Hold acquire(String resource, long millis, Consumer<String> lost) throws Exception;
    }

    /** A held lock. It says whether it was still held; an exception means that nobody knows. */
    interface Hold {
        boolean release() throws Exception;
    }

    private static final long MARGIN_MS = 50; // of each deadline, for the answer itself
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ScheduledExecutorService WATCHDOG = Executors.newScheduledThreadPool(1);
    private static Client client; // since the first line with servers

    /**
     * One acquisition, in a thread of its own: libraries hold locks by thread. asked is done when its release was asked
     * for; said has the outcomes by operation.
     */
    private record Call(long id, CompletableFuture<Void> asked, Map<String, String> said) {
        /** Answers, unless that was done: then it returns false. */
        synchronized boolean answer(String op, String outcome, String error) {
            if (said.putIfAbsent(op, outcome) != null) {
                return false;
            }
            ObjectNode line = JSON.createObjectNode().put("op", op).put("id", id).put("outcome", outcome);
            say(outcome.equals("ok") ? line : line.put("error", error));
            return true;
        }

        synchronized void lost(String why) {
            if ("ok".equals(said.get("acquire")) && !asked.isDone()) {
                say(JSON.createObjectNode().put("op", "lost").put("id", id).put("error", why));
            }
        }

        void expire(String op, long millis) {
            WATCHDOG.schedule(() -> answer(op, "unknown", "the library did not return in time"), millis - MARGIN_MS / 2,
                    TimeUnit.MILLISECONDS);
        }

        void run(String resource, long millis) {
            Hold hold = null;
            boolean inTime = true;
            try {
                hold = client.acquire(resource, Math.max(millis - MARGIN_MS, 1), this::lost);
                inTime = hold == null ? answer("acquire", "failed", "another client holds it")
                        : answer("acquire", "ok", null);
            } catch (Exception e) {
                answer("acquire", "unknown", e.toString());
            }
            if (inTime) {
                asked.join();
            }
            String outcome = "failed";
            String error = "it is not held";
            try {
                outcome = hold != null && hold.release() ? "ok" : "failed";
            } catch (Exception e) {
                outcome = "unknown";
                error = e.toString();
            }
            asked.join();
            answer("release", outcome, error);
        }
    }

    private static synchronized void say(ObjectNode line) {
        System.out.println(line);
    }

    /** Speaks the protocol to the end of the input. */
    static void serve(String hello, BiFunction<String, Map<String, List<String>>, Client> connect) throws Exception {
        Map<Long, Call> calls = new HashMap<>();
        MappingIterator<JsonNode> in = JSON.readerFor(JsonNode.class).readValues(System.in);
        while (in.hasNext()) {
            JsonNode ask = in.next();
            long id = ask.path("id").asLong();
            long millis = ask.path("deadline_ms").asLong();
            switch (ask.get("op").asText()) {
                case "hello" -> {
                    Map<String, List<String>> addresses = new HashMap<>();
                    for (JsonNode s : ask.get("servers")) {
                        addresses.computeIfAbsent(s.get("role").asText(), role -> new ArrayList<>())
                                .add(s.get("addr").asText());
                    }
                    say(((ObjectNode) JSON.readTree(hello)).put("op", "hello").put("version", 1));
                    if (!addresses.isEmpty()) {
                        client = connect.apply(ask.get("client").asText(), addresses);
                    }
                }
                case "acquire" -> {
                    Call call = new Call(id, new CompletableFuture<>(), new HashMap<>());
                    calls.put(id, call);
                    call.expire("acquire", millis);
                    new Thread(() -> call.run(ask.get("resource").asText(), millis)).start();
                }
                default -> {
                    Call call = calls.remove(id);
                    call.answer("acquire", "unknown", "it was given up");
                    call.expire("release", millis);
                    call.asked.complete(null);
                }
            }
        }
        System.exit(0);
    }
}
