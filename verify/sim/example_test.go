package sim_test

import (
	"context"
	"fmt"
	"time"

	"locklab/locks/multiphase"
	"locklab/verify/sim"
)

// Three peers under a hundred seeds, each with cuts that are drawn from it; then the
// smallest case of what was found.
func Example() {
	simulator := sim.New(multiphase.DefaultOptions().Algorithm(), sim.Shell{})
	plan := sim.Plan{
		Config: sim.Config{Peers: 3, Seed: 1, Load: sim.Load{Think: 20 * time.Millisecond, Hold: 5 * time.Millisecond}},
		Seeds:  100, Kinds: []sim.Kind{sim.Partition},
	}
	outcome := sim.Campaign(context.Background(), simulator, plan)
	found := outcome.Groups[0]
	fmt.Println(found.Name)
	smallest := sim.Shrink(simulator, plan.Case(found.First), found.Example.Kind)
	fmt.Printf("%d peers, %d fault: %s\n", smallest.Config.Peers, len(smallest.Config.Faults), smallest.Config.Faults[0].Kind)
	// Output:
	// overlap under partition
	// 2 peers, 1 fault: partition
}
