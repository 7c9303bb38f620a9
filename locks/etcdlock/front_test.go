package etcdlock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"locklab/internal/must"
)

// Methods of etcd that tests look out for.
const (
	txn         = "/etcdserverpb.KV/Txn"
	get         = "/etcdserverpb.KV/Range"
	deleteRange = "/etcdserverpb.KV/DeleteRange"
	leaseGrant  = "/etcdserverpb.Lease/LeaseGrant"
	leaseRevoke = "/etcdserverpb.Lease/LeaseRevoke"
	keepAlive   = "/etcdserverpb.Lease/LeaseKeepAlive"
	watch       = "/etcdserverpb.Watch/Watch"
)

// front stands before a member. What it is to do with a request is asked of a hook, which may
// keep it for a while: a request that its client has given up is passed on nevertheless, as
// by a member that was silent and lives again.
type front struct {
	addr   string
	member *grpc.ClientConn

	mu    sync.Mutex
	hooks map[string]func(ctx context.Context) error // by method; what is an error is not passed on
}

func newFront(t *testing.T, member string) *front {
	t.Helper()
	conn, err := grpc.NewClient(member, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asItIs{})))
	must.Do(t, err)
	f := &front{member: conn, hooks: map[string]func(context.Context) error{}}
	server := grpc.NewServer(grpc.ForceServerCodec(asItIs{}), grpc.UnknownServiceHandler(f.pass), grpc.WaitForHandlers(true),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second})) // as etcd's
	t.Cleanup(func() { _ = conn.Close() })
	f.addr = serve(t, server)
	return f
}

// serve has a server listen until the test is over.
func serve(t *testing.T, server *grpc.Server) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(ln) // until it is stopped
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return ln.Addr().String()
}

// on sets what is done with the requests of a method from now on.
func (f *front) on(method string, hook func(ctx context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[method] = hook
}

// catch keeps the next request of a method: caught is closed when it is there, letGo passes it
// on, and passed is closed when the member has answered it. Those after it are not kept.
func (f *front) catch(t *testing.T, method string) (caught <-chan struct{}, letGo func(), passed <-chan struct{}) {
	t.Helper()
	there, gone, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	letGo = sync.OnceFunc(func() { close(gone) })
	t.Cleanup(letGo)
	f.on(method, func(ctx context.Context) error {
		f.on(method, nil)
		close(there)
		<-gone
		context.AfterFunc(ctx.Value(answeredKey{}).(context.Context), func() { close(answered) })
		return nil
	})
	return there, letGo, answered
}

// answeredKey is where a hook's context has one that ends when the member has answered.
type answeredKey struct{}

func (f *front) pass(_ any, in grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(in)
	answered, done := context.WithCancel(context.Background())
	defer done()
	heard, _ := metadata.FromIncomingContext(in.Context())
	ctx := metadata.NewOutgoingContext(context.WithValue(in.Context(), answeredKey{}, answered), heard)
	if method == watch || method == keepAlive {
		return f.stream(ctx, method, in)
	}
	var request, answer []byte
	if err := in.RecvMsg(&request); err != nil {
		return err
	}
	if err := f.ask(ctx, method); err != nil {
		return err
	}
	if err := f.member.Invoke(context.WithoutCancel(ctx), method, &request, &answer); err != nil {
		return err
	}
	done()
	return in.SendMsg(&answer)
}

func (f *front) ask(ctx context.Context, method string) error {
	f.mu.Lock()
	hook := f.hooks[method]
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(ctx)
}

func (f *front) stream(ctx context.Context, method string, in grpc.ServerStream) error {
	if err := f.ask(ctx, method); err != nil {
		return err
	}
	out, err := f.member.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() { // it ends with the handler
		var message []byte
		for in.RecvMsg(&message) == nil && out.SendMsg(&message) == nil {
		}
		_ = out.CloseSend()
	}()
	for {
		var message []byte
		if err := out.RecvMsg(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := in.SendMsg(&message); err != nil {
			return err
		}
	}
}

// asItIs leaves messages encoded.
type asItIs struct{}

func (asItIs) Name() string                  { return "proto" }
func (asItIs) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (asItIs) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}
