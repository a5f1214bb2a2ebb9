package linuxtest

import (
	"context"
	"encoding/json"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ListenCRI begins to answer with the Container Runtime Interface.
func (e *Engine) ListenCRI() {
	e.t.Helper()
	l, err := net.Listen("unix", e.Socket)
	if err != nil {
		e.t.Fatal(err)
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, &criServer{e: e})
	e.close = server.Stop
	go func() {
		if err := server.Serve(l); err != nil {
			e.t.Error(err)
		}
	}()
}

type criServer struct {
	cri.UnimplementedRuntimeServiceServer
	e *Engine
}

func (s *criServer) Version(ctx context.Context, _ *cri.VersionRequest) (*cri.VersionResponse, error) {
	s.e.hangs(ctx)
	return &cri.VersionResponse{}, nil
}

func (s *criServer) ListContainers(_ context.Context, req *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	if req.GetFilter().GetState().GetState() != cri.ContainerState_CONTAINER_RUNNING {
		return nil, status.Error(codes.InvalidArgument, "the fake lists running containers alone")
	}
	resp := &cri.ListContainersResponse{}
	for _, id := range s.e.ids() {
		resp.Containers = append(resp.Containers, &cri.Container{Id: id})
	}
	return resp, nil
}

func (s *criServer) ContainerStatus(_ context.Context, req *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	c := s.e.get(req.GetContainerId())
	if c == nil {
		return nil, status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", req.GetContainerId())
	}
	env, labels := c.labels()
	info, err := json.Marshal(map[string]any{
		"pid": c.cmd.Process.Pid, "runtimeSpec": map[string]any{"process": map[string]any{"env": env}},
	})
	if err != nil {
		return nil, err
	}
	resp := &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{
		Id: req.GetContainerId(), State: cri.ContainerState_CONTAINER_RUNNING, Labels: labels,
	}}
	if req.GetVerbose() {
		resp.Info = map[string]string{"info": string(info)}
	}
	return resp, nil
}

func (s *criServer) GetContainerEvents(_ *cri.GetEventsRequest, out grpc.ServerStreamingServer[cri.ContainerEventResponse]) error {
	news, stop := s.e.listen(time.Now().UnixNano())
	defer stop()
	for {
		select {
		case <-out.Context().Done():
			return nil
		case ev := <-news:
			what := cri.ContainerEventType_CONTAINER_STARTED_EVENT
			if ev.Action == "die" {
				what = cri.ContainerEventType_CONTAINER_STOPPED_EVENT
			}
			if err := out.Send(&cri.ContainerEventResponse{ContainerId: ev.Actor.ID, ContainerEventType: what}); err != nil {
				return err
			}
		}
	}
}
