package serve

import (
	"cmp"
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/a2a"
)

// named returns a copy of a configuration that has an id: its own id or, as in the SDK for Python,
// the id of its task. A task can have one configuration without its own id.
func named(c *a2a.PushConfig, task a2a.TaskID) *a2a.PushConfig {
	copied := *c
	copied.ID = cmp.Or(copied.ID, string(task))
	return &copied
}

// OnSetTaskPushConfig implements [a2asrv.RequestHandler]. It replaces a configuration with the same
// id.
func (h handler) OnSetTaskPushConfig(ctx context.Context, p *a2a.TaskPushConfig) (*a2a.TaskPushConfig, error) {
	t, err := h.mine(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	if err := h.push.check(&p.Config); err != nil {
		return nil, err
	}
	c := named(&p.Config, t.id)
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if len(t.pushes) >= maxPushes && t.pushes[c.ID] == nil {
		return nil, limited("a task has at most %d configurations", maxPushes)
	}
	if _, err := t.c.log.append(entry{Type: entryPush, Time: h.c.Now().UTC(), Task: t.id, Push: c}); err != nil {
		return nil, h.internal(err)
	}
	t.subscribe(c)
	return &a2a.TaskPushConfig{TaskID: t.id, Config: *c}, nil
}

// OnGetTaskPushConfig implements [a2asrv.RequestHandler]. Without an id, it returns the
// configuration that was set without an id, or the only one.
func (h handler) OnGetTaskPushConfig(ctx context.Context, p *a2a.GetTaskPushConfigParams) (*a2a.TaskPushConfig, error) {
	t, err := h.mine(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	c := t.pushes[cmp.Or(p.ConfigID, string(t.id))]
	if c == nil && p.ConfigID == "" && len(t.pushes) == 1 {
		c = t.targets()[0]
	}
	if c == nil {
		return nil, fmt.Errorf("%w: it has no such pushNotificationConfig", a2a.ErrTaskNotFound)
	}
	return &a2a.TaskPushConfig{TaskID: t.id, Config: *c}, nil
}

// OnListTaskPushConfig implements [a2asrv.RequestHandler].
func (h handler) OnListTaskPushConfig(ctx context.Context, p *a2a.ListTaskPushConfigParams) ([]*a2a.TaskPushConfig, error) {
	t, err := h.mine(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	list := []*a2a.TaskPushConfig{}
	for _, c := range t.targets() {
		list = append(list, &a2a.TaskPushConfig{TaskID: t.id, Config: *c})
	}
	return list, nil
}

// OnDeleteTaskPushConfig implements [a2asrv.RequestHandler]. Deleting a configuration that does not
// exist succeeds.
func (h handler) OnDeleteTaskPushConfig(ctx context.Context, p *a2a.DeleteTaskPushConfigParams) error {
	t, err := h.mine(ctx, p.TaskID)
	if err != nil {
		return err
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.pushes[p.ConfigID] == nil {
		return nil
	}
	if _, err := t.c.log.append(entry{Type: entryUnpush, Time: h.c.Now().UTC(), Task: t.id, PushID: p.ConfigID}); err != nil {
		return h.internal(err)
	}
	delete(t.pushes, p.ConfigID)
	return nil
}
