//go:build cloud

package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/vertex"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// NewBedrock returns Claude at Amazon Bedrock. APIKey is a Bedrock API key. Without one,
// requests are signed with what the AWS SDK finds (environment, profile, role of the
// machine), or with LiteLLM's model_kwargs aws_access_key_id, aws_secret_access_key,
// aws_session_token and aws_profile_name. The region is model_kwargs.aws_region_name, or
// the one of the profile. BaseURL is the runtime endpoint, if it is not the region's.
// Errors are as of [New], or a Host fault if there are no credentials.
func NewBedrock(ctx context.Context, cfg endpoint.Config) (*Model, error) {
	cfg.Model = strings.TrimPrefix(cfg.Model, Bedrock.Prefix)
	given, err := takeStrings(&cfg, "aws_region_name", "aws_profile_name", "aws_access_key_id", "aws_secret_access_key", "aws_session_token")
	if err != nil {
		return nil, err
	}
	_, key, err := cfg.Target(Bedrock)
	if err != nil {
		return nil, err
	}
	account, err := awsAccount(ctx, given, key)
	if err != nil {
		return nil, err
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, "https://bedrock-runtime."+account.Region+".amazonaws.com")
	m, err := open(cfg, Bedrock)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{option.WithHTTPClient(m.at.HTTP), bedrock.WithConfig(account), option.WithBaseURL(root(m.at.Address))}
	if key != "" {
		options = append(options, option.WithMiddleware(bearer(key)))
	}
	m.connectCloud(options...)
	return m, nil
}

// connectCloud makes the SDK send the requests, which it signs and changes on their way, with none
// of its own options from the environment.
func (m *Model) connectCloud(options ...option.RequestOption) {
	client := sdk.Client{Options: []option.RequestOption{
		option.WithMaxRetries(0), // repeating is not the client's
		option.WithoutOpenTelemetry(),
	}}
	for name, value := range m.at.Headers {
		client.Options = append(client.Options, option.WithHeader(name, value))
	}
	client.Options = append(client.Options, options...)
	m.call.Send = func(ctx context.Context, ask history.Body) (answer *http.Response, err error) {
		err = client.Post(ctx, "v1/messages", slices.Concat(ask...), &answer)
		return answer, err
	}
}

// bearer sends a key, also where the SDK prefers the one in AWS_BEARER_TOKEN_BEDROCK.
func bearer(key string) option.Middleware {
	return func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		r.Header.Set("Authorization", "Bearer "+key)
		return next(r)
	}
}

func awsAccount(ctx context.Context, given map[string]string, key string) (aws.Config, error) {
	load := []func(*config.LoadOptions) error{config.WithRegion(given["aws_region_name"]), config.WithSharedConfigProfile(given["aws_profile_name"])}
	if id := given["aws_access_key_id"]; id != "" {
		load = append(load, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(id, given["aws_secret_access_key"], given["aws_session_token"])))
	}
	account, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return account, fault.New(fault.Host, "reading the configuration of AWS", err)
	}
	if account.Region == "" {
		return account, fault.Newf(fault.Usage, "configuring the model: Bedrock needs a region").
			WithHint("set AWS_REGION, or model_kwargs.aws_region_name")
	}
	if key != "" {
		account.BearerAuthTokenProvider, account.AuthSchemePreference = bedrock.NewStaticBearerTokenProvider(key), []string{"httpBearerAuth"}
		return account, nil
	}
	if _, err := account.Credentials.Retrieve(ctx); err != nil {
		return account, fault.New(fault.Host, "reading the credentials of AWS", err).
			WithHint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or AWS_BEARER_TOKEN_BEDROCK")
	}
	return account, nil
}

// googleScope is the scope of credentials that Vertex requires.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// NewVertex returns Claude at Google's Vertex AI. APIKey is an access token. Without one,
// Google's default credentials are used, or the JSON in LiteLLM's
// model_kwargs.vertex_credentials. The project and the region are
// model_kwargs.vertex_project (or the project of the credentials) and vertex_location
// ("global" without it). BaseURL is the endpoint, if it is not the region's.
// Errors are as of [New], or a Host fault if there are no credentials.
func NewVertex(ctx context.Context, cfg endpoint.Config) (*Model, error) {
	cfg.Model = strings.TrimPrefix(cfg.Model, Vertex.Prefix)
	given, err := takeStrings(&cfg, "vertex_project", "vertex_location", "vertex_credentials", "vertex_ai_project", "vertex_ai_location")
	if err != nil {
		return nil, err
	}
	_, key, err := cfg.Target(Vertex)
	if err != nil {
		return nil, err
	}
	account, err := googleAccount(ctx, given["vertex_credentials"], key)
	if err != nil {
		return nil, err
	}
	project := cmp.Or(given["vertex_project"], given["vertex_ai_project"], account.ProjectID)
	if project == "" {
		return nil, fault.Newf(fault.Usage, "configuring the model: Vertex needs a project").WithHint("set model_kwargs.vertex_project")
	}
	account.TokenSource = &login{account.TokenSource}
	region := cmp.Or(given["vertex_location"], given["vertex_ai_location"], "global")
	cfg.BaseURL = cmp.Or(cfg.BaseURL, vertexBase(region))
	m, err := open(cfg, Vertex)
	if err != nil {
		return nil, err
	}
	m.regional = region != "global"
	m.connectCloud(option.WithHTTPClient(m.at.HTTP), vertex.WithCredentials(ctx, region, project, account), option.WithBaseURL(root(m.at.Address)))
	return m, nil
}

func googleAccount(ctx context.Context, text, token string) (account *google.Credentials, err error) {
	switch {
	case token != "":
		return &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})}, nil
	case text != "":
		var kind struct{ Type google.CredentialsType }
		if err = json.Unmarshal([]byte(text), &kind); err == nil {
			account, err = google.CredentialsFromJSONWithType(ctx, []byte(text), kind.Type, googleScope)
		}
		if err != nil { // which may quote them
			return nil, fault.New(fault.Usage, "reading model_kwargs.vertex_credentials", errors.New("expected the JSON of Google's credentials"))
		}
		return account, nil
	}
	account, err = google.FindDefaultCredentials(ctx, googleScope)
	if err != nil {
		return nil, noLogin(err)
	}
	return account, nil
}

func noLogin(err error) error {
	return fault.New(fault.Host, "reading the credentials of Google Cloud", err).
		WithHint("run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS")
}

// login is a source of tokens. Its refusals end the run: they last until a person logs in.
type login struct{ tokens oauth2.TokenSource }

// Token implements [oauth2.TokenSource].
func (l *login) Token() (*oauth2.Token, error) {
	token, err := l.tokens.Token()
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && refused.Response != nil && slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}, refused.Response.StatusCode) {
		return nil, &llm.Unpaid{Err: noLogin(err)}
	}
	return token, err
}

func vertexBase(region string) string {
	switch region {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + region + ".rep.googleapis.com"
	}
	return "https://" + region + "-aiplatform.googleapis.com"
}

// takeStrings removes members from cfg's Kwargs and returns their values.
func takeStrings(cfg *endpoint.Config, names ...string) (map[string]string, error) {
	values := map[string]string{}
	cfg.Kwargs = maps.Clone(cfg.Kwargs)
	for _, name := range names {
		value, ok := cfg.Kwargs[name]
		delete(cfg.Kwargs, name)
		if !ok || value == nil {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return nil, fault.New(fault.Usage, "reading model_kwargs."+name, fmt.Errorf("expected a string"))
		}
		values[name] = text
	}
	return values, nil
}
