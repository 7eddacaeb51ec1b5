module latlab.example/coldfetch

go 1.26.0
