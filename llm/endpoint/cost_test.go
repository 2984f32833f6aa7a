package endpoint_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/price"
	"batch.example/batch/vocab"
)

// Gateways leave the service tier out of their answers: the requested tier's price counts then.
func TestTheServiceThatAnsweredOrWasAskedForIsPriced(t *testing.T) {
	dearer := map[string]vocab.Price{"priority": {Rates: vocab.Rates{Input: 4}}, "fast": {Rates: vocab.Rates{Input: 6}}}
	prices := price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1}, Services: dearer}}}
	for _, c := range []struct {
		member, asked, said string
		want                float64 // -1: not known
	}{
		{"service_tier", "priority", "", 4},
		{"service_tier", "priority", "default", 1},
		{"service_tier", "", "priority", 4},
		{"service_tier", "auto", "", 1},
		{"service_tier", "standard_only", "", 1},
		{"service_tier", "flex", "", -1},
		{"serviceTier", "SERVICE_TIER_PRIORITY", "", 4},
		{"serviceTier", "priority", "standard", 1},
		{"serviceTier", "priority", "TRAFFIC_TYPE_UNSPECIFIED", 1},
		{"serviceTier", "flex", "ON_DEMAND_PRIORITY", 4},
		{"speed", "fast", "", 6},
	} {
		e := endpoint.Endpoint{Config: endpoint.Config{Model: "m", Prices: prices}, Body: map[string]any{c.member: c.asked}}
		resp := llm.Response{Usage: vocab.Usage{Input: 1}, Service: c.said}
		e.Price(&resp, nil)
		if resp.Priced != (c.want >= 0) || resp.Priced && resp.Cost != c.want {
			t.Errorf("%+v: cost %v, known %v", c, resp.Cost, resp.Priced)
		}
	}
}
