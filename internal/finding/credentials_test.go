package finding

import "testing"

func TestWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"the remote base https://user:hunter2@host/a is not fetched": "the remote base https://host/a is not fetched",
		`git::https://oauth2:hunter2@host/a.git//b?ref=v1`:           `git::https://host/a.git//b?ref=v1`,
		"https://hunter2@host":                                       "https://host",
		"https://user:hun/ter2@host/a":                               "https://host/a",
		"https://user:h@nter2@host/a":                                "https://host/a",
		"add ?submodules=false to https://host/a?submodules=hunter2": "add ?submodules=false to https://host/a?submodules=***",
		"https://host/a?token=hunter2&ref=v1, which":                 "https://host/a?token=***&ref=v1, which",
		"https://host/a?hunter2":                                     "https://host/a?***",
		"https://host/a#access_token=hunter2":                        "https://host/a#access_token=***",
		`host.com/a?ref=v1&sshkey=hunter2"; copy it`:                 `host.com/a?ref=v1&sshkey=***"; copy it`,
		"(from oci://user:hunter2@host/charts) is not in charts/":    "(from oci://host/charts) is not in charts/",
		"chart user:hunter2@host":                                    "chart host",
		"https://a:hunter2@host/a and https://b:hunter2@host/b":      "https://host/a and https://host/b",
		"https://host:8443/a@v1":                                     "https://host:8443/a@v1",
		"git@host:a/b":                                               "git@host:a/b",
		"image nginx:1.2@sha256:0123":                                "image nginx:1.2@sha256:0123",
		"is it there?":                                               "is it there?",
		"what stands at https://host/a?x=y Nobody knows a=b, c@d.ef": "what stands at https://host/a?x=*** Nobody knows a=b, c@d.ef",
	} {
		if got := WithoutCredentials(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		f := Finding{File: text, Object: text, Field: text, Message: text, Remedy: text}
		if got, want := f.Redacted(), (Finding{File: want, Object: want, Field: want, Message: want, Remedy: want}); got != want {
			t.Errorf("told %+v, want %+v", got, want)
		}
	}
}
