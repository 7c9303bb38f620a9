output "takes" {
  description = "What the lab takes of the account's quotas, and costs."
  value       = "${local.vcpus.on-demand} vCPUs on demand, ${local.vcpus.spot} vCPUs Spot; about ${format("%.2f", local.usd_hour)} USD per hour on demand (README.md: What it costs)${join("", [for type in local.unpriced : ", and what ${type} costs"])}"
}

output "report_uri" {
  description = "Where each run leaves its report: a directory named by the time below it."
  value       = "s3://${aws_s3_bucket.lab.id}/runs/"
}

output "deadline" {
  description = "When the instances end themselves (UTC)."
  value       = terraform_data.deadline.output
}

# What make needs to find the lab again.
output "name" { value = var.name }
output "region" { value = var.region }
output "fis_enabled" { value = tostring(var.fis_enabled) }
output "driver_id" { value = aws_instance.lab["driver"].id }
output "hosts" { value = join(" ", [for host in local.host_list : "${host.name}=${aws_instance.lab[host.name].id}"]) }
