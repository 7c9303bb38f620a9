package redisnode

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// serverTime asks a server for its wall clock, by which keys expire.
func serverTime(ctx context.Context, addr string) (time.Time, error) {
	client := redis.NewClient(clientOptions(addr))
	defer func() { _ = client.Close() }() // one question was asked
	at, err := client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask redis at %s for the time: %w", addr, err)
	}
	return at, nil
}
