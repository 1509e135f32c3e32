package web_test

var operators = map[string]string{
	"GET /attention": everybody,
}
