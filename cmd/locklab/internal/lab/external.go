package lab

import (
	"context"
	"fmt"
	"strings"

	"locklab/chaos"
	"locklab/chaos/external"
)

// externalControl lets the chaos runner begin and end what programs of the user
// break, and tells the cluster which hosts will go away because of it.
type externalControl struct {
	cluster  *cluster
	programs external.Programs
}

var _ chaos.External = externalControl{}

func (e externalControl) Start(ctx context.Context, run, hosts []string) error {
	e.cluster.losses.expect(hosts)
	e.cluster.fleet.log.Info("external fault begins", "run", run, "hosts", hosts)
	err := e.programs.Start(ctx, run)
	if err != nil && ctx.Err() == nil {
		e.cluster.fleet.notice(fmt.Sprintf("warning: the external fault %s did not begin: %v", strings.Join(run, " "), err))
	}
	return err
}

func (e externalControl) Stop(ctx context.Context, run []string) error {
	e.cluster.fleet.log.Info("external fault is ended", "run", run)
	e.cluster.fleet.notice("ending the external fault " + strings.Join(run, " "))
	return e.programs.Stop(ctx, run)
}
