package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// DockerTimeout is how long an engine may take to answer one request.
const DockerTimeout = 5 * time.Second

// inspected is how many containers an engine is asked about at once.
const inspected = 16

// docker follows the containers of an engine with the API of Docker, as Docker and Podman
// have it: https://docs.docker.com/reference/api/engine/. It uses three requests whose
// fields are in all versions of the API since 1.24.
type docker struct {
	socket  string
	timeout time.Duration
	client  *http.Client
}

// Docker returns the containers of the engine that listens on a socket. An engine that does
// not answer within the timeout counts as not available.
func Docker(socket string, timeout time.Duration) Source {
	return &docker{socket, timeout, &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: timeout}).DialContext(ctx, "unix", socket)
		},
		ResponseHeaderTimeout: timeout,
		MaxIdleConns:          inspected,
		MaxIdleConnsPerHost:   inspected,
	}}}
}

func (d *docker) String() string { return "the container engine at " + d.socket }

// Follow first opens the stream of events, so that no change after the listing is missed.
func (d *docker) Follow(ctx context.Context, report func(Update)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer d.client.CloseIdleConnections()
	events, err := d.open(ctx, "/events", map[string][]string{"type": {"container"}, "event": {"start", "die"}})
	if err != nil {
		return err
	}
	defer events.Close()
	running, err := d.running(ctx)
	if err != nil {
		return err
	}
	report(Update{All: true, Running: running})
	for in := json.NewDecoder(events); ; {
		var e struct {
			Action string
			Actor  struct{ ID string }
		}
		if err := in.Decode(&e); err != nil {
			return fmt.Errorf("the stream of events ended: %w", errors.Join(ctx.Err(), err))
		}
		switch e.Action {
		case "die":
			report(Update{Stopped: []string{e.Actor.ID}})
		case "start":
			c, err := d.inspect(ctx, e.Actor.ID)
			if err != nil {
				return err
			}
			if c != nil {
				report(Update{Running: []Container{*c}})
			}
		}
	}
}

// running returns the containers that run and have a label.
func (d *docker) running(ctx context.Context) ([]Container, error) {
	listing, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	body, err := d.open(listing, "/containers/json", map[string][]string{"status": {"running"}})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var listed []struct{ ID string }
	if err := json.NewDecoder(body).Decode(&listed); err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	found, errs := make([]*Container, len(listed)), make([]error, len(listed))
	var all sync.WaitGroup
	turns := make(chan struct{}, inspected)
	for i, l := range listed {
		turns <- struct{}{}
		all.Go(func() {
			found[i], errs[i] = d.inspect(ctx, l.ID)
			<-turns
		})
	}
	all.Wait()
	var out []Container
	for _, c := range found {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, errors.Join(errs...)
}

// inspect returns a container; nil if it does not run any more, or has no label.
func (d *docker) inspect(ctx context.Context, id string) (*Container, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	body, err := d.open(ctx, "/containers/"+url.PathEscape(id)+"/json", nil)
	if errors.Is(err, errNoContainer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var c struct {
		State struct {
			Running bool
			Pid     int
		}
		Config struct {
			Env    []string
			Labels map[string]string
		}
	}
	if err := json.NewDecoder(body).Decode(&c); err != nil {
		return nil, fmt.Errorf("inspect container %s: %w", id, err)
	}
	label := labelOf(c.Config.Env, c.Config.Labels)
	if label == "" || !c.State.Running || c.State.Pid == 0 {
		return nil, nil
	}
	return &Container{Label: label, ID: id, PID: c.State.Pid}, nil
}

var errNoContainer = errors.New("there is no such container")

// open returns the body of the answer to a request.
func (d *docker) open(ctx context.Context, path string, filters map[string][]string) (io.ReadCloser, error) {
	if len(filters) > 0 {
		text, err := json.Marshal(filters)
		if err != nil {
			return nil, err
		}
		path += "?filters=" + url.QueryEscape(string(text))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) { // the URL is of no use to anybody
			err = u.Err
		}
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp.Body, nil
	case http.StatusNotFound:
		err = errNoContainer
	default:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // the status says enough
		err = fmt.Errorf("%s answers %s: %s", path, resp.Status, strings.TrimSpace(string(said)))
	}
	return nil, errors.Join(err, resp.Body.Close())
}
