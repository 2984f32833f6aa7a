package vocab

import (
	"slices"
	"strings"
)

// Rates are US dollars per token.
type Rates struct {
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`                  // input read from the provider's cache
	CacheWrite  float64 `json:"cache_write,omitempty"`         // input written to that cache; 0 = the price of other input
	CacheHour   float64 `json:"cache_write_1h,omitempty"`      // input written to be kept for an hour; 0 = not known
	FreeWrite   bool    `json:"cache_write_free,omitempty"`    // CacheWrite is 0 because that costs nothing
	FreeHour    bool    `json:"cache_write_1h_free,omitempty"` // CacheHour likewise
	Output      float64 `json:"output"`
}

// Price has a model's rates: for the provider's standard service, and by name for its other
// services, such as "flex", "priority" and "batch".
type Price struct {
	Rates
	Tiers    []Tier           `json:"tiers,omitempty"` // in the order of Above
	Services map[string]Price `json:"services,omitempty"`
}

// Tier has the rates of every token in a call with more input tokens than Above, cached
// ones included.
type Tier struct {
	Above int64 `json:"above"` // tokens
	Rates
}

// Cost returns the price of a call that used u, in US dollars. Service is the
// service tier by which the provider says it answered, in its own words; "" is the
// standard one. It returns false if the cost is not known: for a service without rates of
// its own, for a call longer than a limit at which the standard rates change but its
// service's new rates are unknown, and for writes of unknown rate to a cache that is kept
// for an hour.
func (p Price) Cost(u Usage, service string) (usd float64, known bool) {
	asked, standard := p, p.tier(u.Input)
	if name := serviceName(service); name != "" {
		var ok bool
		if asked, ok = p.Services[name]; !ok || asked.tier(u.Input).Above != standard.Above {
			return 0, false
		}
	}
	return asked.tier(u.Input).cost(u)
}

// tier returns the last tier that a call of this length reaches. Above 0, the tier has the
// rates without tiers.
func (p Price) tier(input int64) Tier {
	in := Tier{Rates: p.Rates}
	for _, t := range p.Tiers {
		if input > t.Above {
			in = t
		}
	}
	return in
}

// At returns the rates of a call with so much input, in the price's own service.
func (p Price) At(input int64) Rates { return p.tier(input).Rates }

func (r Rates) cost(u Usage) (usd float64, known bool) {
	read := min(u.Cached, u.Input)
	written := min(u.CacheWrite, u.Input-read)
	hour := min(u.CacheHour, written)
	if hour > 0 && r.CacheHour == 0 && !r.FreeHour && r.Input > 0 {
		return 0, false
	}
	write := r.CacheWrite
	if write == 0 && !r.FreeWrite {
		write = r.Input
	}
	return float64(u.Input-read-written)*r.Input + float64(read)*r.CachedInput +
		float64(written-hour)*write + float64(hour)*r.CacheHour + float64(u.Output)*r.Output, true
}

// standardServices are names of the standard service. OpenAI and servers like it say
// "default", and some repeat the "auto" of a request; Anthropic says "standard", and is asked for
// "standard_only"; Groq and Google say "on_demand", and Google "unspecified".
var standardServices = []string{"", "auto", "default", "standard", "standard_only", "on_demand", "unspecified", "traffic_type_unspecified"}

// serviceName returns the name of a service in Price, "" for the standard service.
func serviceName(said string) string {
	name := strings.TrimPrefix(strings.ToLower(said), "service_tier_") // Gemini: SERVICE_TIER_FLEX
	if slices.Contains(standardServices, name) {
		return ""
	}
	return strings.TrimPrefix(name, "on_demand_") // Vertex: ON_DEMAND_FLEX
}
