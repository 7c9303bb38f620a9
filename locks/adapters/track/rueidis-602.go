//go:build ignore

// rueidislock: WithContext asks again and again without a pause while another client holds the lock.
// Fixed in 1.0.44.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	option := rueidislock.LockerOption{ClientOption: rueidis.ClientOption{InitAddress: os.Args[1:2]}}
	first, err := rueidislock.NewLocker(option)
	check(err)
	second, err := rueidislock.NewLocker(option)
	check(err)
	_, _, err = first.WithContext(context.Background(), "track")
	check(err)
	before := asked(first)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _, err = second.WithContext(ctx, "track")
	fmt.Println("commands in the second in which one client waited:", asked(first)-before, err)
	if asked(first)-before < 200 {
		log.Fatal("not shown")
	}
}

// asked is how many commands the server has served.
func asked(l rueidislock.Locker) (n int) {
	info, err := l.Client().Do(context.Background(), l.Client().B().Info().Section("stats").Build()).ToString()
	check(err)
	_, after, _ := strings.Cut(info, "total_commands_processed:")
	_, err = fmt.Sscan(after, &n)
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		log.Fatal("not shown: ", err)
	}
}
