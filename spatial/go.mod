module latlab.example/spatial

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.13.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.25.0
	latlab.example/common v0.0.0
)

replace latlab.example/common => ../common
