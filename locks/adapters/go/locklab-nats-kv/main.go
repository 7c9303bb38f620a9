// Command nats-kv locks with a key of a JetStream bucket: Create takes it, Delete by revision
// gives it back, and the bucket's TTL frees what a crashed holder left.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"locklab/locks/adapters/go/protocol"
)

func main() {
	ttl := flag.Duration("ttl", 3*time.Second, "the bucket's time to live")
	flag.Parse()
	hello := protocol.Line{
		"servers": []map[string]any{{"role": "nats", "nodes": 1}}, "lease_ms": ttl.Milliseconds(), "tokens": true,
	}
	protocol.Serve(hello, func(_ string, addrs []string) (protocol.Acquire, error) {
		conn, err := nats.Connect("nats://"+addrs[0], nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
		if err != nil {
			return nil, err
		}
		stream, err := jetstream.New(conn)
		return func(ctx context.Context, resource string, _ func(error)) (protocol.Hold, error) {
			bucket, err := stream.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "locks", TTL: *ttl})
			if err != nil {
				return protocol.Hold{}, err
			}
			return take(ctx, bucket, hex.EncodeToString([]byte(resource))) // keys have few characters
		}, err
	})
}

// take tries every 10 ms.
func take(ctx context.Context, bucket jetstream.KeyValue, resource string) (protocol.Hold, error) {
	for {
		since := time.Now()
		revision, err := bucket.Create(ctx, resource, nil)
		if err == nil {
			return protocol.Hold{Since: since, Token: int64(revision), Release: func(ctx context.Context) error {
				return bucket.Delete(ctx, resource, jetstream.LastRevision(revision))
			}}, nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return protocol.Hold{}, err
		}
		select {
		case <-ctx.Done():
			return protocol.Hold{}, protocol.ErrNotHeld
		case <-time.After(10 * time.Millisecond):
		}
	}
}
