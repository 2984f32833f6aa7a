package catalogue

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/endpoint"
)

// client is a provider's model for one attempt.
type client struct {
	keyed
	attempt string // id of the instance
	within  func(ctx context.Context, instance string) context.Context
}

// keyed is a provider's model with one key.
type keyed struct {
	remote
	gate  llm.Gate                  // nil: none
	gates func(key string) llm.Gate // the gates of keys that come with calls
}

// remote is a model behind a network, such as an [endpoint.Client].
type remote interface {
	llm.Model
	RetryPolicy() llm.RetryPolicy
	Dropped() []string
	Wire() string
}

// Generate implements [llm.Model].
func (c *client) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	if c.within != nil {
		ctx = c.within(ctx, c.attempt)
	}
	return c.remote.Generate(ctx, req)
}

// Gate returns the key's gate, for [llm.Calls]; nil if there is none.
func (c *client) Gate() llm.Gate {
	if c.gate == nil {
		return nil
	}
	return &turnGate{own: c.gate, of: c.gates}
}

// Keys returns the keys of p that are set, and the name of their variable.
func (p Provider) Keys(getenv func(string) string) (keys []string, variable string) {
	if p.Key == "" {
		return nil, ""
	}
	several := p.Key + "S"
	keys = strings.FieldsFunc(getenv(several), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if len(keys) > 0 {
		return keys, several
	}
	if key := strings.TrimSpace(getenv(p.Key)); key != "" { // a file may end in a line break
		return []string{key}, p.Key
	}
	return nil, p.Key
}

// configs returns one configuration for each key of requests to base. A key that the kwargs name replaces all
// others.
func (p Provider) configs(s Config, cfg endpoint.Config, base, named string) ([]endpoint.Config, error) {
	keys, variable := p.Keys(s.Getenv)
	switch {
	case named != "":
		keys, variable = []string{named}, "model_kwargs.api_key"
	case len(keys) == 0 && s.KeyFromTurn && !isLoopback(base) && !p.Keyless:
		keys = []string{""}
	case len(keys) == 0 && p.Key != "" && !isLoopback(base) && !p.Keyless:
		hint := "set it: `export " + p.Key + "=...`"
		if !p.Further {
			hint += "\nor, for a server of your own that wants no key: `export " + p.Base + "=http://localhost:8000/v1`"
		}
		return nil, fault.Newf(fault.Usage, "no key for %s: %s is not set", s.Model, p.Key).WithHint("%s", hint)
	case len(keys) == 0:
		keys = []string{"none"} // the user's own servers take any key, but the protocol requires a header
	}
	configs := make([]endpoint.Config, len(keys))
	for i, key := range keys {
		configs[i] = cfg
		configs[i].APIKey, configs[i].KeyVariable = key, variable
		if len(keys) > 1 {
			configs[i].KeyVariable = fmt.Sprintf("key %d of the %d in %s", i+1, len(keys), variable)
		}
	}
	return configs, nil
}

// clients holds one client for each of a provider's keys.
type clients []keyed

// open returns the clients of all keys of requests to base.
func (p Provider) open(s Config, configs []endpoint.Config, base string, proven bool) (clients, error) {
	list := make(clients, len(configs))
	for i, cfg := range configs {
		cfg.Proven = proven
		m, err := p.connect(cfg)
		if err != nil {
			return nil, err
		}
		list[i] = keyed{remote: m}
		if s.Gate != nil {
			list[i].gate = s.Gate(p.Name, base, cfg.APIKey)
			list[i].gates = func(key string) llm.Gate { return s.Gate(p.Name, base, key) }
		}
	}
	return list, nil
}

// of returns the model of an instance. An instance keeps one key, and so its prompt cache.
func (c clients) of(instance string, within func(context.Context, string) context.Context) llm.Model {
	h := fnv.New32a()
	_, _ = h.Write([]byte(instance)) // never fails
	return &client{c[int(h.Sum32()%uint32(len(c)))], instance, within}
}

func (c clients) each() (models []llm.Model) {
	for _, k := range c {
		models = append(models, k.remote)
	}
	return models
}

// dropped returns the model_kwargs that the provider does not take.
func (c clients) dropped() []string {
	if len(c) == 0 {
		return nil
	}
	return c[0].Dropped()
}

// wire returns the name of their protocol.
func (c clients) wire() string {
	if len(c) == 0 {
		return ""
	}
	return c[0].Wire()
}

// turnGate is the gate of an attempt's calls. A call with its own key passes the gate of that key, so that
// each person has their own limits.
type turnGate struct {
	own llm.Gate
	of  func(key string) llm.Gate

	mu   sync.Mutex
	key  string   // key of the last such call
	last llm.Gate // gate of that key
}

// Enter implements [llm.Gate]. If the gate refuses a turn's key, the fault is Transient: it must not stop the
// run.
func (g *turnGate) Enter(ctx context.Context, t *llm.Ticket) (llm.Pass, error) {
	turn := authority.From(ctx)
	if turn == nil || turn.ModelKey == "" {
		return g.own.Enter(ctx, t)
	}
	pass, err := g.gate(turn.ModelKey).Enter(ctx, t)
	if fault.KindOf(err) == fault.Host {
		err = fault.New(fault.Transient, "", err)
	}
	return pass, err
}

func (g *turnGate) gate(key string) llm.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil || g.key != key {
		g.key, g.last = key, g.of(key)
	}
	return g.last
}
