package zklock

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
)

// surelyNot says that what was asked for was not done, and will not be.
func surelyNot(err error) bool {
	return slices.ContainsFunc([]error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNotEmpty,
		zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrAuthFailed, zk.ErrBadArguments,
		zk.ErrNoServer, zk.ErrInvalidPath,
	}, func(sure error) bool { return errors.Is(err, sure) })
}
