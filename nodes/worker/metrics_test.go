package worker_test

import (
	"testing"

	"locklab/internal/metrics/metricstest"
	"locklab/nodes/worker"
)

func TestMetrics(t *testing.T) {
	w, url := start(t, func(s *worker.Settings) { s.Capacity = 1 })
	var room worker.Room
	do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`, &room)
	do(t, "POST", url+"/v1/rooms", `{"group":"other","order":"o1","by":"m"}`, nil)
	do(t, "POST", url+"/v1/rooms/"+room.Room+"/seats", `{"player":"p1"}`, nil)
	do(t, "POST", url+"/v1/rooms/"+room.Room+"/seats", `{"player":"p2"}`, nil)
	metricstest.Has(t, metricstest.Page(t, w),
		`locklab_room_orders_total{result="conflict"} 1`,
		`locklab_room_orders_total{result="ok"} 1`,
		`locklab_room_seat_requests_total{result="full"} 1`,
		`locklab_room_seat_requests_total{result="ok"} 1`,
		`locklab_rooms{state="full"} 1`,
		`locklab_rooms{state="open"} 0`,
		`locklab_rooms_created_total 1`,
	)
}
