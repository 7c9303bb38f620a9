# Real zone trouble, off by default. A scenario has the driver start an experiment
# (scenarios/, run --external); nothing here starts one.
#
# A cut-off zone is cut off from the other zones' hosts only, by a prefix list: the
# driver still reaches it, as the oracle must never be behind a fault.
locals {
  fis_zones = { for zone in local.zones : zone => zone if var.fis_enabled }

  fis_templates = concat(
    [for zone, template in aws_fis_experiment_template.partition : { zone = zone, kind = "partition", id = template.id, arn = local.fis_arns["${zone}/partition"] }],
    [for zone, template in aws_fis_experiment_template.stop : { zone = zone, kind = "stop", id = template.id, arn = local.fis_arns["${zone}/stop"] }],
  )

  fis_arn_prefix = "${local.arn}:fis:${var.region}:${data.aws_caller_identity.current.account_id}:experiment-template"
  fis_arns = merge(
    { for zone, template in aws_fis_experiment_template.partition : "${zone}/partition" => "${local.fis_arn_prefix}/${template.id}" },
    { for zone, template in aws_fis_experiment_template.stop : "${zone}/stop" => "${local.fis_arn_prefix}/${template.id}" },
  )
}

# Everything of the lab that is not in the zone, but for the driver and endpoints.
resource "aws_ec2_managed_prefix_list" "others" {
  for_each = local.fis_zones

  name           = "${var.name}-not-${each.key}"
  address_family = "IPv4"
  max_entries    = length(local.zones)

  dynamic "entry" {
    for_each = { for zone in local.zones : zone => aws_subnet.zone[zone].cidr_block if zone != each.key }

    content {
      cidr        = entry.value
      description = "hosts of zone ${entry.key}"
    }
  }
}

resource "aws_fis_experiment_template" "partition" {
  for_each = local.fis_zones

  description = "${var.name}: hosts of zone ${each.key} and of the others cannot reach each other"
  role_arn    = aws_iam_role.fis[0].arn

  stop_condition {
    source = "none" # it ends by itself, and fis-stop ends it earlier
  }

  action {
    name      = "partition"
    action_id = "aws:network:disrupt-connectivity"

    parameter {
      key   = "duration"
      value = "PT${var.fis_minutes}M"
    }

    parameter {
      key   = "scope"
      value = "prefix-list"
    }

    parameter {
      key   = "prefixListIdentifier"
      value = aws_ec2_managed_prefix_list.others[each.key].id
    }

    target {
      key   = "Subnets"
      value = "zone"
    }
  }

  target {
    name           = "zone"
    resource_type  = "aws:ec2:subnet"
    selection_mode = "ALL"
    resource_arns  = [aws_subnet.zone[each.key].arn]
  }

  tags = { Name = "${var.name}-partition-${each.key}" }

  depends_on = [aws_iam_role_policy.fis, aws_iam_role_policy_attachment.fis]
}

resource "aws_fis_experiment_template" "stop" {
  for_each = local.fis_zones

  description = "${var.name}: the instances of zone ${each.key} stop and start again"
  role_arn    = aws_iam_role.fis[0].arn

  stop_condition {
    source = "none"
  }

  action {
    name      = "stop"
    action_id = "aws:ec2:stop-instances"

    parameter {
      key   = "startInstancesAfterDuration"
      value = "PT${var.fis_minutes}M"
    }

    target {
      key   = "Instances"
      value = "zone"
    }
  }

  target {
    name           = "zone"
    resource_type  = "aws:ec2:instance"
    selection_mode = "ALL"

    resource_tag {
      key   = "Lab"
      value = var.name
    }

    resource_tag {
      key   = "Zone"
      value = each.key
    }

    filter {
      path   = "State.Name"
      values = ["running"]
    }
  }

  tags = { Name = "${var.name}-stop-${each.key}" }

  depends_on = [aws_iam_role_policy.fis, aws_iam_role_policy_attachment.fis]
}

# One line for each template, for fis-start: ZONE KIND ID.
resource "aws_s3_object" "fis" {
  count = var.fis_enabled ? 1 : 0

  bucket  = aws_s3_bucket.lab.id
  key     = "lab/fis.txt"
  content = join("", [for template in local.fis_templates : "${template.zone} ${template.kind} ${template.id}\n"])
}

# The scenarios that start them; lab-prepare knows their names.
resource "aws_s3_object" "scenario" {
  for_each = toset(var.fis_enabled ? ["fis-partition", "fis-stop"] : [])

  bucket       = aws_s3_bucket.lab.id
  key          = "lab/scenarios/${each.key}.yaml"
  content      = file("${path.module}/scenarios/${each.key}.yaml")
  content_type = "application/yaml"
}

resource "aws_iam_role" "fis" {
  count = var.fis_enabled ? 1 : 0

  name_prefix = "${var.name}-fis-"
  description = "Experiments of the lab ${var.name}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "fis.amazonaws.com" }
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
}

resource "aws_iam_role_policy" "fis" {
  count = var.fis_enabled ? 1 : 0

  name = "instances"
  role = aws_iam_role.fis[0].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Action    = ["ec2:StopInstances", "ec2:StartInstances"]
        Resource  = "${local.arn}:ec2:${var.region}:${data.aws_caller_identity.current.account_id}:instance/*"
        Condition = { StringEquals = { "aws:ResourceTag/Lab" = var.name } }
      },
      {
        # Encrypted volumes are attached again by a grant; a customer's key, which may be
        # the account's default for volumes, gives none without this.
        Effect   = "Allow"
        Action   = ["kms:CreateGrant"]
        Resource = "${local.arn}:kms:${var.region}:*:key/*"
        Condition = {
          Bool         = { "kms:GrantIsForAWSResource" = "true" }
          StringEquals = { "kms:ViaService" = "ec2.${var.region}.amazonaws.com" }
        }
      },
      {
        Effect   = "Allow"
        Action   = ["ec2:DescribeInstances", "tag:GetResources"]
        Resource = "*"
      },
    ]
  })
}

# What AWS itself says that cutting a subnet off takes.
resource "aws_iam_role_policy_attachment" "fis" {
  count = var.fis_enabled ? 1 : 0

  role       = aws_iam_role.fis[0].name
  policy_arn = "${local.arn}:iam::aws:policy/service-role/AWSFaultInjectionSimulatorNetworkAccess"
}
