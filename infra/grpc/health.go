package grpc

import (
	"context"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/health"
)

// watchInterval is the polling interval of watched states.
const watchInterval = time.Second

// healthService is the standard health service. All services have the state of
// the agent: they serve while it runs and none of its plugins has failed. A
// degraded plugin still serves requests; /readiness is stricter.
type healthService struct {
	grpc_health_v1.UnimplementedHealthServer
	p *Plugin
}

// Check implements the service.
func (h *healthService) Check(_ context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if name := req.GetService(); name != "" && !h.p.known(name) {
		return nil, status.Errorf(codes.NotFound, "unknown service %q", name)
	}
	return &grpc_health_v1.HealthCheckResponse{Status: h.status("")}, nil
}

// List implements the service.
func (h *healthService) List(context.Context, *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	resp := &grpc_health_v1.HealthListResponse{Statuses: map[string]*grpc_health_v1.HealthCheckResponse{
		"": {Status: h.status("")},
	}}
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	for name := range h.p.services {
		resp.Statuses[name] = &grpc_health_v1.HealthCheckResponse{Status: resp.Statuses[""].Status}
	}
	return resp, nil
}

// Watch implements the service: it sends the present state, and then every
// change.
func (h *healthService) Watch(req *grpc_health_v1.HealthCheckRequest, stream rpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for told, first := grpc_health_v1.HealthCheckResponse_UNKNOWN, true; ; first = false {
		if now := h.status(req.GetService()); first || now != told {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

func (h *healthService) status(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	switch {
	case service != "" && !h.p.known(service):
		return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
	case h.p.host == nil:
		return grpc_health_v1.HealthCheckResponse_SERVING
	case !h.p.host.Running() || h.p.host.Health().Snapshot().State == health.Error:
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}
