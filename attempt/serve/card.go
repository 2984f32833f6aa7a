package serve

import (
	"slices"

	"github.com/a2aproject/a2a-go/a2a"
)

// Card configures the agent card.
type Card struct {
	Name        string // empty: batch
	Description string
	Version     string
	URL         string // the server's address for callers
}

// protocolVersion is the version of the protocol that the SDK implements.
const protocolVersion = "0.3.0"

// outputModes are the media types of a task's messages and artifacts.
var outputModes = []string{"text/plain", "text/x-diff"}

// offered reports whether mode, a media type that a caller accepts, matches an output mode.
func offered(mode string) bool {
	return slices.Contains(outputModes, mode) || mode == "text/*" || mode == "*/*" || mode == "text"
}

// card returns the agent card.
func (s *Server) card() *a2a.AgentCard {
	c := s.c.Card
	card := &a2a.AgentCard{
		Name: c.Name, Description: c.Description, Version: c.Version, URL: c.URL,
		ProtocolVersion: protocolVersion, PreferredTransport: a2a.TransportProtocolJSONRPC,
		Capabilities:      a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: outputModes,
		Skills: []a2a.AgentSkill{{
			ID: "code", Name: "Work on code", Tags: []string{"code", "shell", "git"},
			Description: "Works on a repository in a container of its own, with a shell. Each message is a turn; " +
				"the changes come as the artifact patch.",
			Examples: []string{"Fix the failing test in tests/test_io.py."},
		}},
	}
	if card.Name == "" {
		card.Name = "batch"
	}
	if s.c.Tokens != nil {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		card.Security = []a2a.SecurityRequirements{{"bearer": a2a.SecuritySchemeScopes{}}}
	}
	return card
}
