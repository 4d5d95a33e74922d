"""What Prometheus reads of the deliveries, from what all workers share: rows and Redis, never this process.

collector.py   all of it, part by part; a service that is away costs its part only
traffic.py     counters and histograms, from the totals
stock.py       gauges of what waits, from the census
signs.py       gauges of workers, sweeps and queues
families.py    the makers of families
"""

from deliveries.metrics.collector import DeliveriesCollector

__all__ = ["DeliveriesCollector"]
