# The hard stop. Every instance ends itself max_hours after its first boot; this is
# the second line for those that could not, and it removes the endpoints, which
# cost by the hour too. Each instance has its own schedule, as EC2 ends none of a
# list in which one is gone already.
resource "terraform_data" "made" {
  triggers_replace = concat([var.max_hours, aws_instance.driver.id], [for name in keys(local.hosts) : aws_instance.host[name].id])
  input            = plantimestamp()

  lifecycle {
    ignore_changes = [input] # the moment at which these instances were made
  }
}

locals {
  deadline = timeadd(terraform_data.made.output, "${var.max_hours * 60 + 15}m")

  stops = merge(
    { for name in keys(local.hosts) : name => {
      call  = "ec2:terminateInstances"
      input = { InstanceIds = [aws_instance.host[name].id] }
    } },
    { driver = {
      call  = "ec2:terminateInstances"
      input = { InstanceIds = [aws_instance.driver.id] }
    } },
    { for service, endpoint in aws_vpc_endpoint.api : "endpoint-${service}" => {
      call  = "ec2:deleteVpcEndpoints"
      input = { VpcEndpointIds = [endpoint.id] }
    } },
  )
}

resource "aws_scheduler_schedule" "stop" {
  for_each = local.stops

  name                = "${var.name}-stop-${each.key}"
  description         = "Ends ${each.key} of the lab ${var.name} if nobody did"
  schedule_expression = "at(${formatdate("YYYY-MM-DD'T'hh:mm:ss", local.deadline)})"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = "${local.arn}:scheduler:::aws-sdk:${each.value.call}"
    role_arn = aws_iam_role.stop.arn
    input    = jsonencode(each.value.input)

    retry_policy {
      maximum_retry_attempts = 10
    }
  }

  depends_on = [aws_iam_role_policy.stop]
}

resource "aws_iam_role" "stop" {
  name_prefix = "${var.name}-stop-"
  description = "Hard stop of the lab ${var.name}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "scheduler.amazonaws.com" }
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
}

resource "aws_iam_role_policy" "stop" {
  name = "stop"
  role = aws_iam_role.stop.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = ["ec2:TerminateInstances", "ec2:DeleteVpcEndpoints"]
      Resource  = "*"
      Condition = { StringEquals = { "aws:ResourceTag/Lab" = var.name } }
    }]
  })
}
