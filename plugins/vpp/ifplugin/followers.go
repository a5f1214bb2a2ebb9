package ifplugin

import (
	"context"
	"sync"
)

// followers are functions that run during each session with VPP.
type followers struct {
	run func(func(context.Context)) // starts goroutines

	mu      sync.Mutex
	all     []*follower
	session context.Context // nil without one
	end     context.CancelFunc
}

// add starts a function now, if there is a session, and in each session to come.
func (fs *followers) add(f func(ctx context.Context)) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	follower := &follower{follow: f}
	fs.all = append(fs.all, follower)
	if fs.session != nil {
		follower.start(fs.session, fs.run)
	}
}

// start begins a session.
func (fs *followers) start(ctx context.Context) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.session, fs.end = context.WithCancel(ctx)
	for _, f := range fs.all {
		f.start(fs.session, fs.run)
	}
}

// stop ends the session, if there is one, without waiting for the functions.
func (fs *followers) stop() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.session != nil {
		fs.end()
		fs.session = nil
	}
}

// follower is a function that runs once at a time.
type follower struct {
	follow func(ctx context.Context)
	done   chan struct{} // closed when the last goroutine has ended
}

func (f *follower) start(ctx context.Context, run func(func(context.Context))) {
	before, done := f.done, make(chan struct{})
	f.done = done
	run(func(context.Context) {
		defer close(done)
		if before != nil {
			<-before
		}
		if ctx.Err() == nil {
			f.follow(ctx)
		}
	})
}
