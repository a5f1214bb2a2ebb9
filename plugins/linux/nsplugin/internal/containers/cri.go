package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// criSource follows the containers of an engine with the Container Runtime Interface of
// Kubernetes, as containerd and CRI-O have it:
// https://kubernetes.io/docs/concepts/containers/cri/.
type criSource struct {
	socket  string
	timeout time.Duration
}

// relist is how often containers are listed again. Engines do not report from when on they
// report events, so what happens before is found by that.
const relist = time.Second

// CRI returns the containers of the engine that listens on a socket; see RequestTimeout. It
// needs containerd 1.7, CRI-O 1.26, or newer, which report events.
func CRI(socket string, timeout time.Duration) Source { return criSource{socket, timeout} }

func (s criSource) String() string { return "the container engine at " + s.socket }

func (s criSource) Follow(ctx context.Context, report func(Update)) error {
	conn, err := grpc.NewClient("unix://"+s.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	engine := criEngine{cri.NewRuntimeServiceClient(conn), s.timeout}
	err = (&follower{engine: engine, timeout: s.timeout, relist: relist, report: report}).follow(ctx)
	return errors.Join(err, conn.Close())
}

type criEngine struct {
	client  cri.RuntimeServiceClient
	timeout time.Duration
}

func (e criEngine) events(ctx context.Context) (next func() (event, error), err error) {
	asking, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if _, err := e.client.Version(asking, &cri.VersionRequest{}); err != nil { // a stream would wait for an engine that hangs
		return nil, err
	}
	events, err := e.client.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	if err != nil {
		return nil, err
	}
	return func() (event, error) {
		got, err := events.Recv()
		if status.Code(err) == codes.Unimplemented {
			err = fmt.Errorf("the engine is too old to report events; containerd 1.7, CRI-O 1.26 and newer do: %w", err)
		}
		what := got.GetContainerEventType()
		return event{
			id:      got.GetContainerId(),
			started: what == cri.ContainerEventType_CONTAINER_STARTED_EVENT,
			stopped: what == cri.ContainerEventType_CONTAINER_STOPPED_EVENT || what == cri.ContainerEventType_CONTAINER_DELETED_EVENT,
		}, err
	}, nil
}

func (e criEngine) list(ctx context.Context) (ids []string, err error) {
	resp, err := e.client.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
	}})
	for _, c := range resp.GetContainers() {
		ids = append(ids, c.GetId())
	}
	return ids, err
}

// inspect reads the environment and the number of the process from what engines report beside
// the fields of the interface, which has neither.
func (e criEngine) inspect(ctx context.Context, id string) (*Container, error) {
	resp, err := e.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var info struct {
		Pid         int
		RuntimeSpec struct{ Process struct{ Env []string } }
	}
	if err := json.Unmarshal([]byte(resp.GetInfo()["info"]), &info); err != nil {
		return nil, fmt.Errorf("container %s: verbose status: %w", id, err)
	}
	label := labelOf(info.RuntimeSpec.Process.Env, resp.GetStatus().GetLabels())
	if label == "" || resp.GetStatus().GetState() != cri.ContainerState_CONTAINER_RUNNING || info.Pid == 0 {
		return nil, nil
	}
	return &Container{Label: label, ID: id, PID: info.Pid}, nil
}
