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
	"time"
)

// docker follows the containers of an engine with the API of Docker, as Docker and Podman
// have it: https://docs.docker.com/reference/api/engine/. It uses three requests whose
// fields are in all versions of the API since 1.24.
type docker struct {
	socket  string
	timeout time.Duration
	client  *http.Client
}

// Docker returns the containers of the engine that listens on a socket; see RequestTimeout.
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

func (d *docker) Follow(ctx context.Context, report func(Update)) error {
	defer d.client.CloseIdleConnections()
	return (&follower{engine: d, timeout: d.timeout, report: report}).follow(ctx)
}

func (d *docker) events(ctx context.Context) (next func() (event, error), err error) {
	// An engine may answer before it listens to its containers; since makes it repeat what happened meanwhile.
	now := time.Now()
	since := fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond())
	body, err := d.open(ctx, "/events", url.Values{"since": {since}, "filters": {`{"type":["container"],"event":["start","die"]}`}})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = body.Close() }) // it was only read
	in := json.NewDecoder(body)
	return func() (event, error) {
		var e struct {
			Action string
			Actor  struct{ ID string }
		}
		err := in.Decode(&e)
		return event{id: e.Actor.ID, started: e.Action == "start", stopped: e.Action == "die"}, err
	}, nil
}

func (d *docker) list(ctx context.Context) (ids []string, err error) {
	var listed []struct{ ID string }
	err = d.get(ctx, "/containers/json", url.Values{"filters": {`{"status":["running"]}`}}, &listed)
	for _, l := range listed {
		ids = append(ids, l.ID)
	}
	return ids, err
}

func (d *docker) inspect(ctx context.Context, id string) (*Container, error) {
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
	err := d.get(ctx, "/containers/"+url.PathEscape(id)+"/json", nil, &c)
	if errors.Is(err, errNoContainer) {
		return nil, nil
	}
	label := labelOf(c.Config.Env, c.Config.Labels)
	if err != nil || label == "" || !c.State.Running || c.State.Pid == 0 {
		return nil, err
	}
	return &Container{Label: label, ID: id, PID: c.State.Pid}, nil
}

var errNoContainer = errors.New("there is no such container")

// get reads the answer to a request.
func (d *docker) get(ctx context.Context, path string, query url.Values, into any) error {
	body, err := d.open(ctx, path, query)
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewDecoder(body).Decode(into), body.Close()); err != nil {
		return fmt.Errorf("answer to %s: %w", path, err)
	}
	return nil
}

// open returns the body of the answer to a request.
func (d *docker) open(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) { // its URL means nothing to users
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
